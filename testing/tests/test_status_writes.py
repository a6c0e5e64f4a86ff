"""The search for writes of a job's status finds every way we know, and leaves harmless code alone."""

import pytest

from testing.status_writes import status_writes

KNOWS = "from jobs.models import Job\n"

PLANTED = {
    "attribute": "job.status = 'failed'",
    "attribute of an attribute": "artifact.job.status = 'failed'",
    "attribute among several": "job.failed_at, job.status = now, 'failed'",
    "attribute in a loop": "for job.status in ('failed',):\n    pass",
    "attribute with a type": "job.status: str = 'failed'",
    "attribute in a context": "with opened() as job.status:\n    pass",
    "own attribute of a job": "class Job(Model):\n    def fail(self):\n        self.status = 'failed'",
    "own attribute of a kind of job": KNOWS
    + "class Proxy(Job):\n    def fail(self):\n        self.status = 'failed'",
    "setattr": "setattr(job, 'status', 'failed')",
    "setattr of object": "object.__setattr__(job, 'status', 'failed')",
    "setattr of the job": "job.__setattr__('status', 'failed')",
    "setattr named at run time": KNOWS + "setattr(job, name, value)",
    "namespace": "job.__dict__['status'] = 'failed'",
    "namespace by vars": "vars(job)['status'] = 'failed'",
    "namespace updated": "job.__dict__.update(state)",
    "namespace by vars updated": "vars(job).update(status='failed')",
    "queryset": "Job.objects.filter(pk=1).update(status='failed')",
    "queryset under a name": "jobs.update(on_hold=False, status='failed')",
    "queryset, async": "await Job.objects.aupdate(status='failed')",
    "queryset with a mapping": "jobs.update(**{'status': 'failed'})",
    "queryset with a joined mapping": "jobs.update(**({'a': 1} | {'status': 'failed'}))",
    "queryset with a nested mapping": "jobs.update(**{'a': 1, **{'status': 'failed'}})",
    "queryset with dict()": "jobs.update(**dict(status='failed'))",
    "queryset named at run time": KNOWS + "jobs.update(**changes)",
    "create": "Job.objects.create(status='failed')",
    "related create": "role.jobs.create(status='failed')",
    "update_or_create": "Job.objects.update_or_create(pk=1, defaults={'status': 'failed'})",
    "get_or_create": "Job.objects.get_or_create(pk=1, defaults=dict(status='failed'))",
    "constructor": "Job(status='failed')",
    "constructor of a module": "models.Job(status='failed')",
    "constructor under another name": "from jobs.models import Job as Work\nWork(status='failed')",
    "constructor named at run time": KNOWS + "Job(**columns)",
    "bulk_create": "Job.objects.bulk_create([Job(status='failed')])",
    "bulk_update": "Job.objects.bulk_update(jobs, ['status'])",
    "bulk_update by keyword": "Job.objects.bulk_update(jobs, fields=('a', 'status'))",
    "bulk_update named at run time": KNOWS + "Job.objects.bulk_update(jobs, fields)",
    "save": "job.save(update_fields=['status'])",
    "save named at run time": KNOWS + "job.save(update_fields=names)",
    "model by its name": "apps.get_model('jobs', 'Job')",
    "admin": "class JobAdmin(ModelAdmin):\n    list_editable = ('status',)",
    "SQL": "cursor.execute('UPDATE jobs_job SET status = %s WHERE id = %s', [])",
    "SQL, lower case": "cursor.execute('update jobs_job set status = 1')",
    "SQL, quoted": """cursor.execute('UPDATE "jobs_job" SET "status" = 1')""",
    "SQL, over lines": "cursor.execute('''\n UPDATE jobs_job\n SET a = 1,\n     status = 2\n WHERE b''')",
    "SQL, several strings": "cursor.execute('UPDATE jobs_job ' 'SET a = 1, status = 2')",
    "SQL, added strings": "cursor.execute('UPDATE jobs_job ' + 'SET status = ' + value)",
    "SQL, after a subquery": "sql = 'UPDATE jobs_job SET a = (SELECT b FROM c WHERE d), status = 1'",
    "SQL, a row": "sql = 'UPDATE jobs_job SET (a, status) = (1, 2)'",
    "SQL, in a common table expression": "sql = 'WITH x AS (UPDATE jobs_job SET status = 1 RETURNING id)'",
    "SQL, columns at run time": "cursor.execute(f'UPDATE jobs_job SET {columns} WHERE id = 1')",
    "SQL, all at run time": KNOWS + "cursor.execute(f'UPDATE {table} SET {columns}')",
    "SQL, table by format": KNOWS + "cursor.execute('UPDATE {table} SET status = 1'.format(table=table))",
    "SQL, table by percent": KNOWS + "cursor.execute('UPDATE %s SET status = 1' % table)",
    "SQL, columns out of sight": "cursor.execute('UPDATE jobs_job ' + the_rest)",
    "SQL, insert": "cursor.execute('INSERT INTO jobs_job (id) VALUES (1)')",
    "SQL, copy": "cursor.copy('COPY jobs_job (id) FROM STDIN')",
}

HARMLESS = {
    "reading": "if job.status == 'failed' and Job.objects.exclude(status='failed'):\n    pass",
    "a condition": "Q(status='failed') | When(status='failed', then=1)",
    "another class's own": "class Answer:\n    def __init__(self, status):\n        self.status = status",
    "a dictionary": "answer['status'] = job.status",
    "a response": "Response(payload, status=201)",
    "a payload": "dict(status=job.status)",
    "other columns": "jobs.update(is_deferred=False)\njob.save(update_fields=['priority'])",
    "a similar name": "event.current_status = job.status\nEvent.objects.create(previous_status='failed')",
    "another model's columns": "role.save(update_fields=some)\nRole.objects.update(**changes)",
    "another table": "cursor.execute('UPDATE roles_role SET paused_at = NULL, status = 1')",
    "another table named at run time": "cursor.execute(f'UPDATE {table} SET {columns}')",
    "a where clause": "cursor.execute('UPDATE jobs_job SET a = 1 WHERE status = 2')",
    "a value": "cursor.execute('UPDATE jobs_job SET a = status, b = 2 WHERE status = 3 AND c IN (1)')",
    "a locking read": "cursor.execute('SELECT status FROM jobs_job FOR UPDATE SKIP LOCKED')",
    "a service": KNOWS + "from jobs.services.updating import update\nupdate(**fields)",
    "a service of a module": KNOWS + "from jobs.services import updating\nupdating.update(**fields)",
    "prose": "'''An update sets the status of nothing.'''",
    "a field": "class Job(Model):\n    status = CharField()",
}


@pytest.mark.parametrize("code", PLANTED.values(), ids=PLANTED)
def test_a_planted_write_is_found(code):
    found = status_writes(code)
    assert len(found) == 1, found
    assert found[0].line >= 1


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS)
def test_harmless_code_is_left_alone(code):
    assert status_writes(code) == []
