"""Small releases in the layouts that engines have: enough source for the generator, and nothing to import."""

from __future__ import annotations

import zipfile
from pathlib import Path

ARG_UTILS = """
class Arg:
    help: str = ""

def add_cli_args_from_dataclass(parser, cls):
    raise RuntimeError("never run")
"""
SERVER_ARGS = """
import argparse, json
from typing import List, Literal, Optional
from sglang.srt.arg_groups.arg_utils import A, Arg, add_cli_args_from_dataclass
from sglang.srt.arg_groups.argparse_actions import DeprecatedAliasStoreAction
from sglang.srt.parsers import Parsers, Mode

raise RuntimeError("a release is never imported")
CHOICES = ["auto", "fp8"]
CHOICES.append("bf16")
if machine_has_something():
    CHOICES.append("never-here")

class ServerArgs:
    model_path: A[str, Arg(help="Weights.", aliases=["--model"])]
    tp_size: A[int, Arg(help="TP.", cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
    dtype: A[str, Arg(help="Type.", choices=CHOICES)] = "auto"
    sizes: A[Optional[List[int]], "Sizes."] = None
    side: A[Literal["left", "right"], "Side."] = "left"
    extra: A[Optional[str], Arg(help="JSON.", type_parser=json.loads)] = None
    trust: A[bool, "Trust."] = False
    quick: A[Optional[bool], Arg(help="Quick.", action=argparse.BooleanOptionalAction)] = None
    hidden: A[bool, Arg(no_cli=True)] = False
    internal: int = 3
    parser: Optional[str] = None

    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        known = list(Parsers.TABLE.keys())
        parser.add_argument("--parser", type=str, choices=["auto"] + known, help=f"One of {known}")
        parser.add_argument("--mode", choices=[m.name.lower() for m in Mode], default=ServerArgs.side)
        parser.add_argument(
            "--tp-old", dest="tp_size", type=int, action=DeprecatedAliasStoreAction,
            new_flag="--tp-size", help="Old.",
        )
"""
PARSERS = """
from enum import Enum
class Parsers:
    TABLE = {"kimi": object, "qwen": object}
class Mode(Enum):
    NONE = 0
    ALL = 1
"""
FIELDS = """
import msgspec
from typing import Optional
from sglang.srt.arg_groups.arg_utils import A, Arg
class Spec(msgspec.Struct):
    _NS_PATH = "spec"
    steps: A[Optional[int], Arg(help="Steps.", resolvable=True)] = None
    algorithm: A[Optional[str], "Algorithm."] = None
    derived = Derived(doc="no argument")
"""
STRUCT_ARGS = """
from sglang.srt.arg_groups.arg_utils import add_cli_args_from_dataclass
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--again", type=str, default=_declared_default("algorithm"))
def _declared_default(name):
    raise RuntimeError("never run")
ServerArgs = msgspec.defstruct("ServerArgs", [], bases=(ServerArgs,))
"""
SGLANG_DATACLASS = {
    "sglang-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sglang\nVersion: 1.0\n",
    "sglang/srt/arg_groups/arg_utils.py": ARG_UTILS,
    "sglang/srt/parsers.py": PARSERS,
    "sglang/srt/server_args.py": SERVER_ARGS,
}
SGLANG_STRUCTS = {
    "sglang-2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sglang\nVersion: 2.0\n",
    "sglang/srt/arg_groups/arg_utils.py": ARG_UTILS,
    "sglang/srt/arg_groups/field_order.py": 'POSITIONAL_FIELD_ORDER = ("algorithm", "steps")',
    "sglang/srt/arg_groups/fields/__init__.py": "",
    "sglang/srt/arg_groups/fields/spec.py": FIELDS,
    "sglang/srt/server_args.py": STRUCT_ARGS,
}
VLLM_CLI = """
import json
from vllm.config import BaseArgs, CacheConfig, Frontend
from vllm.engine.arg_utils import get_kwargs, optional_type
def make_arg_parser(parser):
    parser.add_argument("model_tag", type=str, nargs="?", help="The model.")
    parser = Frontend.add_cli_args(parser)
    kwargs = get_kwargs(CacheConfig)
    group = parser.add_argument_group(title="Cache", description=CacheConfig.__doc__)
    group.add_argument("--block-size", "-b", **kwargs["block_size"])
    group.add_argument("--enable-cache", **{**kwargs["enable_cache"], "default": None})
    kwargs["extra"]["type"] = optional_type(json.loads)
    group.add_argument("--extra", **kwargs["extra"])
    group.add_argument("--nested", **kwargs["nested"])
    group.add_argument("--layers", **kwargs["layers"])
    return parser
"""
VLLM_CONFIG = """
from typing import Any, Literal
from pydantic import Field
from vllm.config.utils import config
from .kinds import *
@config
class Nested:
    value: int = 1
@config
class CacheConfig:
    block_size: Size | None = None
    enable_cache: bool = True
    extra: dict[str, Any] | None = None
    nested: Nested = Field(default_factory=Nested)
    layers: list[int | str] = Field(default_factory=list)
    never_asked_for: "Unreadable[0]" = None
@config
class BaseArgs:
    host: str | None = None
    @classmethod
    def _customize(cls, kwargs):
        return kwargs
    @classmethod
    def add_cli_args(cls, parser):
        from vllm.engine.arg_utils import get_kwargs
        kwargs = cls._customize(get_kwargs(cls))
        for key, value in kwargs.items():
            parser.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser
@config
class Frontend(BaseArgs):
    origins: list[str] = Field(default_factory=list)
    tool_call_parser: str | None = None
    @classmethod
    def _customize(cls, kwargs):
        kwargs = super()._customize(kwargs)
        if "nargs" in kwargs["origins"]:
            del kwargs["origins"]["nargs"]
        return kwargs
"""
VLLM = {
    "vllm-3.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 3.0\n",
    "vllm/config/__init__.py": VLLM_CONFIG,
    "vllm/config/kinds.py": "Size = Literal[16, 8]\n",
    "vllm/engine/arg_utils.py": "def get_kwargs(cls): ...\ndef optional_type(kind): ...\n",
    "vllm/entrypoints/common/cli_args.py": VLLM_CLI,
    "vllm/tool_parsers/__init__.py": '_TOOL_PARSERS_TO_REGISTER = {"kimi_k2": ("a", "B")}',
}


def folder(root: Path, files: dict[str, str]) -> Path:
    """``files`` as an unpacked release below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def wheel(path: Path, files: dict[str, str]) -> Path:
    """``files`` as a wheel."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path
