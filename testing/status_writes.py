"""Finds code that writes a job's status: the search behind the rule that only jobs/transitions.py does.

A search of the syntax tree, file by file, without types. Where it cannot know whether a job is meant
(`x.status = …`, `x.update(status=…)`, a column named at run time) it reports in doubt, for a status that is
not a job's has other ways to be written: `self.status` in a class of its own, `d["status"] = …` for a
dictionary.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

COLUMN = "status"
TABLE = "jobs_job"

# Methods that write the columns which their keywords name, and keywords that hold columns for a new row.
_WRITERS = frozenset({"update", "create", "get_or_create", "update_or_create", "_update"})
_DEFAULTS = frozenset({"defaults", "create_defaults"})

_FILLED_IN = r"(?:\{[^}]*\}|%s)"  # what an f-string, .format() or % puts in at run time
_UPDATE = re.compile(
    rf'\bUPDATE\s+(?:ONLY\s+)?(?:"?public"?\.)?(?P<table>"?{TABLE}\b"?|{_FILLED_IN})(?P<rest>.*)',
    re.IGNORECASE | re.DOTALL,
)
_INSERT = re.compile(
    rf'\b(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|REPLACE\s+INTO|MERGE\s+INTO|COPY)\s+(?:"?public"?\.)?"?{TABLE}\b',
    re.IGNORECASE,
)
_SET = re.compile(r"\bSET\b(?P<assignments>.*)", re.IGNORECASE | re.DOTALL)
_END_OF_SET = re.compile(r"\b(?:WHERE|RETURNING|FROM)\b|;", re.IGNORECASE)
_ROW_ASSIGNED = re.compile(rf"(?:^|,)\s*\([^()]*(?:\b{COLUMN}\b|{_FILLED_IN})[^()]*\)\s*=", re.IGNORECASE)
_ASSIGNED = re.compile(rf'(?:^|,)\s*(?:"?{COLUMN}"?|{_FILLED_IN})\s*(?:=|,|$)', re.IGNORECASE)


@dataclass(frozen=True)
class StatusWrite:
    """One place that writes, or may write, a job's status."""

    line: int
    what: str


def status_writes(source: str) -> list[StatusWrite]:
    """Every write that the module's source text holds, in the order of lines."""
    return sorted(_Search(ast.parse(source)).found(), key=lambda write: write.line)


class _Search:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.job_names = {"Job"} | {
            name.asname
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for name in node.names
            if name.name == "Job" and name.asname
        }
        self.imported_names = {
            (name.asname or name.name).split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in node.names
        }
        # What is named at run time counts only where a job can be at hand, or half of Django is reported.
        self.knows_jobs = any(_imports_jobs(node) for node in ast.walk(tree))
        self.own_attributes = {
            id(node)
            for owner in ast.walk(tree)
            if isinstance(owner, ast.ClassDef) and not self._is_job_class(owner)
            for node in ast.walk(owner)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        }

    def found(self) -> Iterator[StatusWrite]:
        read: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                yield from self._target(node)
            elif (
                isinstance(node, ast.Assign) and _assigns(node, "list_editable") and _names_column(node.value)
            ):
                yield StatusWrite(node.lineno, "list_editable")
            # The walk meets a string before its parts, and the parts alone hide what they make together.
            if isinstance(node, ast.expr) and id(node) not in read and (text := _text(node)) is not None:
                read |= {id(part) for part in ast.walk(node)}
                yield from self._sql(node, text)

    def _is_job_class(self, node: ast.ClassDef) -> bool:
        return node.name == "Job" or any(self._is_job(base) for base in node.bases)

    def _is_job(self, node: ast.expr) -> bool:
        return (isinstance(node, ast.Attribute) and node.attr == "Job") or (
            isinstance(node, ast.Name) and node.id in self.job_names
        )

    def _is_writer(self, callee: ast.expr, name: str) -> bool:
        # A method of a queryset or a manager; a function of that name, or one of an imported module, is a service.
        if not isinstance(callee, ast.Attribute) or {name, name.removeprefix("a")}.isdisjoint(_WRITERS):
            return False
        return not (isinstance(callee.value, ast.Name) and callee.value.id in self.imported_names)

    def _target(self, node: ast.Attribute | ast.Subscript) -> Iterator[StatusWrite]:
        if isinstance(node, ast.Attribute):
            written = node.attr == COLUMN and id(node) not in self.own_attributes
        else:
            written = _constant(node.slice) == COLUMN and _is_namespace(node.value)
        if written:
            yield StatusWrite(node.lineno, f"{ast.unparse(node)} = …")

    def _call(self, node: ast.Call) -> Iterator[StatusWrite]:
        name = _called(node)
        if name in {"setattr", "__setattr__"}:
            # The name stands before the value, also in object.__setattr__ and the job's own.
            yield from self._named(node, name, node.args[-2:-1])
        elif name in {"bulk_update", "abulk_update"}:
            yield from self._named(node, name, [*node.args[1:2], *_keyword(node, "fields")])
        elif name in {"save", "asave"}:
            yield from self._named(node, name, _keyword(node, "update_fields"))
        elif name == "get_model" and any(_constant(value) in {"jobs", "jobs.Job"} for value in node.args):
            yield StatusWrite(node.lineno, "get_model: the model under another name")
        elif name == "update" and isinstance(node.func, ast.Attribute) and _is_namespace(node.func.value):
            yield StatusWrite(node.lineno, f"{ast.unparse(node.func)}(…)")
        elif self._is_job(node.func) or self._is_writer(node.func, name):
            yield from self._columns(node, name)

    def _columns(self, node: ast.Call, name: str) -> Iterator[StatusWrite]:
        for keyword in node.keywords:
            if keyword.arg == COLUMN or (keyword.arg in {None, *_DEFAULTS} and _names_column(keyword.value)):
                yield StatusWrite(node.lineno, f"{name}({keyword.arg or '**'}: {COLUMN})")
            elif keyword.arg is None and self.knows_jobs and not isinstance(keyword.value, ast.Dict):
                yield StatusWrite(node.lineno, f"{name}(**…) with columns named at run time")

    def _named(self, node: ast.Call, name: str, values: list[ast.expr]) -> Iterator[StatusWrite]:
        for value in values:
            if _names_column(value):
                yield StatusWrite(node.lineno, f"{name} of {COLUMN}")
            elif self.knows_jobs and not _is_literal(value):
                yield StatusWrite(node.lineno, f"{name} of something named at run time")

    def _sql(self, node: ast.expr, text: str) -> Iterator[StatusWrite]:
        if _INSERT.search(text):
            yield StatusWrite(node.lineno, "SQL that inserts jobs")
        for match in _UPDATE.finditer(text):
            if not (self.knows_jobs or TABLE in match["table"].lower()):
                continue
            clause = _SET.search(match["rest"])
            if clause is None:
                if TABLE in match["table"].lower():
                    yield StatusWrite(node.lineno, "SQL that updates jobs, with the columns out of sight")
            elif _sets_column(clause["assignments"].strip()):
                yield StatusWrite(node.lineno, f"SQL that sets {COLUMN}")


def _sets_column(assignments: str) -> bool:
    """Whether the text after SET assigns the column, or something that is put in at run time."""
    if _ROW_ASSIGNED.search(assignments):
        return True
    # Without what stands in brackets, the first WHERE, FROM or RETURNING is the statement's own.
    flat, count = assignments, 1
    while count:
        flat, count = re.subn(r"\([^()]*\)", " ", flat)
    return _ASSIGNED.search(_END_OF_SET.split(flat, maxsplit=1)[0].strip()) is not None


def _imports_jobs(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] == "jobs" or (node.level > 0 and _imports_name(node, "Job"))
    return isinstance(node, ast.Import) and any(name.name.split(".")[0] == "jobs" for name in node.names)


def _imports_name(node: ast.ImportFrom, wanted: str) -> bool:
    return any(name.name == wanted for name in node.names)


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _keyword(node: ast.Call, name: str) -> list[ast.expr]:
    return [keyword.value for keyword in node.keywords if keyword.arg == name]


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _is_namespace(node: ast.expr) -> bool:
    """`vars(x)` or `x.__dict__`."""
    if isinstance(node, ast.Call):
        return _called(node) == "vars"
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(isinstance(element, ast.Constant) for element in node.elts)
    return isinstance(node, ast.Constant)


def _names_column(node: ast.expr) -> bool:
    """Whether a literal name, list of names or mapping by name holds the column."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return any(_constant(element) == COLUMN for element in node.elts)
    if isinstance(node, ast.Dict):
        return any(
            _names_column(value) if key is None else _constant(key) == COLUMN
            for key, value in zip(node.keys, node.values, strict=True)
        )
    if isinstance(node, ast.BinOp):
        return _names_column(node.left) or _names_column(node.right)
    if isinstance(node, ast.Call) and _called(node) == "dict":
        return bool(_keyword(node, COLUMN)) or any(_names_column(argument) for argument in node.args)
    return _constant(node) == COLUMN


def _text(node: ast.expr) -> str | None:
    """The text of a string expression, with `{}` for what is put in at run time; None for other code."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(_constant(part)) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        if left is None and right is None:
            return None
        return ("{}" if left is None else left) + ("{}" if right is None else right)
    return None
