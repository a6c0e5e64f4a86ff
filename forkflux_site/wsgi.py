"""Django as a WSGI application; `forkflux serve` runs it in threads inside `forkflux_site.asgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forkflux_site.settings")

application = get_wsgi_application()
