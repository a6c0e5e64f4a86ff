"""Two groups for people: `operators` act on everything but the trail, `viewers` look."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

LABELS = ("core", "events", "roles", "agents", "jobs", "artifacts")
_ALL = ("view", "add", "change", "delete")
OPERATORS = {
    ("core", "installation"): ("view", "change"),
    ("events", "event"): ("view",),
    ("roles", "role"): _ALL,
    ("agents", "agent"): _ALL,
    ("agents", "agenttoken"): _ALL,
    ("jobs", "job"): _ALL,
    ("artifacts", "artifact"): _ALL,
}


def make(apps, schema_editor):
    # Permissions are made after all migrations; the groups need them now.
    for label in LABELS:
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, verbosity=0, apps=apps, using=schema_editor.connection.alias)
        config.models_module = None
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    operators, _ = groups.get_or_create(name="operators")
    viewers, _ = groups.get_or_create(name="viewers")
    permissions = apps.get_model("auth", "Permission").objects.using(schema_editor.connection.alias)
    for (label, model), deeds in OPERATORS.items():
        of_model = permissions.filter(content_type__app_label=label, content_type__model=model)
        operators.permissions.add(*of_model.filter(codename__in=[f"{deed}_{model}" for deed in deeds]))
        viewers.permissions.add(*of_model.filter(codename=f"view_{model}"))


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0002_the_installation_row"),
        ("events", "0001_initial"),
        ("roles", "0001_initial"),
        ("agents", "0001_initial"),
        ("jobs", "0001_initial"),
        ("artifacts", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
