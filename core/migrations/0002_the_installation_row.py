"""The one row that tells of this installation; a new database is not onboarded yet."""

from django.db import migrations


def make_row(apps, schema_editor):
    apps.get_model("core", "Installation").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]
    operations = [migrations.RunPython(make_row, migrations.RunPython.noop)]
