"""Jobs in the admin: a list, a page of each, forms to publish and edit, and a page for each verb."""

from jobs.admin.pages import JobAdmin

__all__ = ["JobAdmin"]
