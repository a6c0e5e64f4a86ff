"""What commands print can be read by people, cut by pipes, and steers no terminal."""

import pytest

from core.printing import Table, pairs, printable, printable_lines, shown_time

TABLE = Table(
    ["Id", "Summary"], [[1, "short"], [20, "a much longer summary than that"]], empty="none", cut=["Summary"]
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain größer 日本語 👩‍💻 a\u00a0b", "plain größer 日本語 👩‍💻 a\u00a0b"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("bell\a back\b null\0 del\x7f", r"bell\x07 back\x08 null\x00 del\x7f"),
        ("c1 \x9b31m", r"c1 \x9b31m"),
        ("two\nlines\r\n\tand a tab", r"two\nlines\r\n\tand a tab"),
        ("turned \u202e around \u2066", r"turned \u202e around \u2066"),
        ("separators \u2028 \u2029", r"separators \u2028 \u2029"),
        ("half a pair \udcff", r"half a pair \udcff"),
    ],
    ids=["readable", "colours", "controls", "c1", "lines", "direction", "separators", "surrogate"],
)
def test_what_would_act_on_a_terminal_is_shown_instead(text, shown):
    assert printable(text) == shown


def test_lines_stay_lines_where_they_may():
    assert printable_lines("a\n\x1bb\nc") == "a\n\\x1bb\nc"


def test_a_table_in_a_pipe_is_aligned_and_cuts_nothing():
    assert TABLE.plain().splitlines() == [
        "ID  SUMMARY",
        "1   short",
        "20  a much longer summary than that",
    ]


def test_wide_characters_take_two_columns():
    lines = Table(["A", "B"], [["日本", "x"], ["abcd", "y"]], empty="").plain().splitlines()
    assert lines == ["A     B", "日本  x", "abcd  y"]


def test_cells_say_nothing_yes_no_and_lists():
    table = Table(["A"] * 5, [[None, "", True, False, ["x", "y"]], [[], 0, "-", "", "z"]], empty="")
    assert table.plain().splitlines()[1:] == ["-  -  yes  no  x, y", "-  0  -    -   z"]


@pytest.mark.parametrize("width", [24, 80])
def test_a_table_on_a_terminal_is_as_wide_as_that(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = TABLE.drawn(no_color=True).splitlines()
    assert len(lines) == 3
    assert max(len(line.rstrip()) for line in lines[1:]) <= width
    assert lines[2].startswith("20  a much")
    assert ("…" in lines[2]) == (width == 24)


def test_what_agents_wrote_is_no_markup(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    drawn = Table(["A"], [["[red]x[/red] [link=file:///]y[/link] \x1b[2J"]], empty="").drawn(no_color=False)
    assert r"[red]x[/red] [link=file:///]y[/link] \x1b[2J" in drawn.splitlines()[1]


def test_an_empty_table_is_a_sentence():
    empty = Table(["A"], [], empty="There is nothing.")
    assert empty.plain() == empty.drawn(no_color=False) == "There is nothing."


def test_names_and_values_stand_below_one_another():
    assert pairs([("a", 1), ("longer", "x\ny")]) == "a       1\nlonger  x\\ny"


def test_times_are_shown_to_the_second():
    assert shown_time("2026-12-01T04:03:25.123456Z") == "2026-12-01 04:03:25Z"
    assert shown_time(None) == "-"
