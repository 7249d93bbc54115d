"""Puts the Lua code of a clone into the packages. A source package has it as files already."""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LuaBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sources = runpy.run_path(str(Path(self.root, "src/pshub/redis/lua_sources.py")))
        # Of a folder that has neither the sources nor the files no package is built: it could not run.
        texts = {name: sources["lua_text"](name) for name in sources["FOLDERS"]}
        # An editable install reads the clone.
        if version == "editable" or not sources["is_clone"]():
            return
        self.folder = TemporaryDirectory()
        package = "src/pshub" if self.target_name == "sdist" else "pshub"
        for name, text in texts.items():
            file = Path(self.folder.name, name.replace("/", "-"))
            file.write_bytes(text)
            build_data["force_include"][str(file)] = f"{package}/{name}"
