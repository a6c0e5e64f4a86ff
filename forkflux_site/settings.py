"""Django's settings of a ForkFlux installation, all of them read from the environment."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from core import __version__, env
from core.limits import LIMITS
from forkflux_site.database import SQLITE, database_from_environment
from forkflux_site.logs import logging_from_environment
from forkflux_site.secret import secret_key

BASE_DIR = Path(__file__).resolve().parent.parent

# --- Where it serves, and for whom -----------------------------------------------------------------
DEBUG = env.boolean("DEBUG", default=False)
FORKFLUX_HOST = env.text("FORKFLUX_HOST", "127.0.0.1")
FORKFLUX_THREADS = env.integer("FORKFLUX_THREADS", 8, low=1, high=256)
FORKFLUX_QUEUE_MAX = env.integer("FORKFLUX_QUEUE_MAX", 256, low=1, high=65_536)
FORKFLUX_BODY_LEAST_BYTES_PER_SECOND = env.integer(
    "FORKFLUX_BODY_LEAST_BYTES_PER_SECOND", 1_024, low=1, high=1_048_576
)
FORKFLUX_BODY_GRACE_SECONDS = env.seconds("FORKFLUX_BODY_GRACE_SECONDS", 5, low=0.05, high=3_600)
FORKFLUX_BODY_SECONDS = env.seconds("FORKFLUX_BODY_SECONDS", 60, low=0.05, high=3_600)
ALLOWED_HOSTS = env.items("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env.items("CSRF_TRUSTED_ORIGINS")
# Only a proxy that sets X-Forwarded-Proto itself, on every request, may be believed about it.
FORKFLUX_BEHIND_TLS_PROXY = env.boolean("FORKFLUX_BEHIND_TLS_PROXY", default=False)
if FORKFLUX_BEHIND_TLS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

# --- Database and secret ---------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {"default": database_from_environment(threads=FORKFLUX_THREADS)}
# Services open their transactions themselves: a request that only reads needs none.
DATABASES["default"]["ATOMIC_REQUESTS"] = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SQLITE_FILE = (
    Path(DATABASES["default"]["NAME"])
    if DATABASES["default"]["ENGINE"] == SQLITE and DATABASES["default"]["NAME"] != ":memory:"
    else None
)
SECRET_KEY = secret_key(SQLITE_FILE, required=DATABASES["default"]["ENGINE"] != SQLITE)

# Accepted by `GET /mcp/agents/roles` only, for services that are no agent; None: never accepted.
SHARED_API_KEY = env.secret("SHARED_API_KEY")

# --- How often credentials may be wrong, and how often a token may call --------------------------
FORKFLUX_REFUSALS_MAX = env.integer("FORKFLUX_REFUSALS_MAX", 50, low=1, high=100_000)
FORKFLUX_REFUSALS_SECONDS = env.integer("FORKFLUX_REFUSALS_SECONDS", 300, low=1, high=86_400)
FORKFLUX_LOGIN_FAILURES = env.integer("FORKFLUX_LOGIN_FAILURES", 10, low=1, high=1_000)
FORKFLUX_LOGIN_COOLOFF_MINUTES = env.integer("FORKFLUX_LOGIN_COOLOFF_MINUTES", 15, low=1, high=10_080)
# 0: no limit.
FORKFLUX_TOKEN_REQUESTS_PER_MINUTE = env.integer(
    "FORKFLUX_TOKEN_REQUESTS_PER_MINUTE", 0, low=0, high=1_000_000
)
AUTHENTICATION_BACKENDS = [
    # The first is asked first and refuses whoever was wrong too often, before a password is hashed.
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = FORKFLUX_LOGIN_FAILURES
AXES_COOLOFF_TIME = timedelta(minutes=FORKFLUX_LOGIN_COOLOFF_MINUTES)
# The two together: nobody can lock a person out from elsewhere by guessing under their name.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "core.api.refusals.client_address"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_RESET_ON_SUCCESS = True
AXES_HTTP_RESPONSE_CODE = 429
AXES_LOCKOUT_TEMPLATE = "admin/locked_out.html"
AXES_VERBOSE = False

# --- Apps and the way of a request -----------------------------------------------------------------
FORKFLUX_APPS = ["core", "events", "roles", "agents", "jobs", "artifacts", "forkflux_site"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    *FORKFLUX_APPS,
]
MIDDLEWARE = [
    "core.api.middleware.TrailingSlashMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "forkflux_site.urls"
WSGI_APPLICATION = "forkflux_site.wsgi.application"
# Both forms of an address answer at once: a redirect would turn a client's POST into a GET.
APPEND_SLASH = False
# The dispatcher has the whole body before Django sees the request and enforces the same bound.
DATA_UPLOAD_MAX_MEMORY_SIZE = LIMITS.body_max_bytes
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

LOGIN_URL = "admin:login"

# --- Sessions, passwords, browser protections ------------------------------------------------------
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "forkflux_session"
CSRF_COOKIE_NAME = "forkflux_csrf"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# --- Language and time -----------------------------------------------------------------------------
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# --- Static files ----------------------------------------------------------------------------------
# WhiteNoise serves the files of the installed apps straight from where they are, read once at the start,
# so that `serve` needs no step before it. An image builder may run collectstatic into
# FORKFLUX_STATIC_ROOT; from then on names carry a hash of the content and browsers keep them for good.
STATIC_URL = "/static/"
STATIC_ROOT = env.text("FORKFLUX_STATIC_ROOT") or None
_COLLECTED = STATIC_ROOT is not None and (Path(STATIC_ROOT) / "staticfiles.json").is_file()
STATICFILES_DIRS = [path for path in [BASE_DIR / "static"] if path.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "whitenoise.storage.CompressedManifestStaticFilesStorage"
            if STATIC_ROOT is not None
            else "django.contrib.staticfiles.storage.StaticFilesStorage"
        )
    },
}
WHITENOISE_USE_FINDERS = not _COLLECTED
WHITENOISE_AUTOREFRESH = DEBUG

# --- REST ------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["core.api.authentication.AgentAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["core.api.permissions.DenyByDefault"],
    "DEFAULT_RENDERER_CLASSES": [
        "core.api.renderers.CompactJSONRenderer",
        "core.api.renderers.BrowsableAPIRenderer",
    ],
    "DEFAULT_PARSER_CLASSES": ["core.api.parsers.AnyTypeJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.api.negotiation.LenientNegotiation",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "core.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "ForkFlux API",
    "DESCRIPTION": "Agents hand work to each other: publish, claim, heartbeat, complete.",
    "VERSION": __version__,
    # The fields are pydantic's, which describes them in the JSON Schema that OpenAPI has spoken since 3.1.
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.api.openapi.with_integer_ids",
    ],
    "SCHEMA_PATH_PREFIX": r"/api/v1(/mcp)?",
    # The pages come from this server, so that they also work without a way to the internet.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

LOGGING = logging_from_environment()
