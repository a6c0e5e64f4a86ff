"""Each job tells since when it has been in its state: what is stuck is found by that."""

from datetime import UTC, datetime

from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Coalesce

# The newest time that a row of each state holds; what was published again since tells it by `updated_at`.
_TIMES = {
    "pending": ("created_at",),
    "published": ("updated_at",),
    "in_progress": ("started_at", "updated_at"),
    "blocked": ("blocked_at", "updated_at"),
    "unblocked": ("unblocked_at", "updated_at"),
    "completed": ("completed_at", "updated_at"),
    "failed": ("failed_at", "updated_at"),
    "cancelled": ("cancelled_at", "updated_at"),
}


def fill(apps, schema_editor):
    jobs = apps.get_model("jobs", "Job").objects.using(schema_editor.connection.alias)
    for status, times in _TIMES.items():
        since = Coalesce(*times) if len(times) > 1 else F(times[0])
        jobs.filter(status=status).update(status_changed_at=since)


class Migration(migrations.Migration):
    dependencies = [("jobs", "0002_room_for_hot_rows")]
    operations = [
        migrations.AddField(
            model_name="job",
            name="status_changed_at",
            field=models.DateTimeField(default=datetime(1970, 1, 1, tzinfo=UTC)),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
