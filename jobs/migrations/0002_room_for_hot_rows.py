"""Jobs are updated often: leave room in their pages and clean the claim's index early (PostgreSQL).

Every claim leaves a dead entry at the head of `job_claim_order`, where the next claim begins to read.
"""

from django.db import migrations

SETTINGS = "fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200"


def set_storage(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE jobs_job SET ({SETTINGS})")


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]
    operations = [migrations.RunPython(set_storage, migrations.RunPython.noop)]
