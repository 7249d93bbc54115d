"""``python -m pshub``: the command ``pshub-worker-py`` where its script is not on the PATH."""

import sys

from .cli import main

sys.exit(main())
