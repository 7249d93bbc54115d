import os

DEBUG = os.environ.get("DEBUG") == "1"
# It signs what Django keeps with visitors, of which there is nothing here; in earnest it is a secret of its own.
SECRET_KEY = os.environ.get("SECRET_KEY", "only for this example")
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
