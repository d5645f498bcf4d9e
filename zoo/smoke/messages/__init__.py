"""The table of known messages, in the order in which a cause is looked for."""

from __future__ import annotations

from zoo.smoke.messages.machine import MACHINE, WRAPS
from zoo.smoke.messages.model import Known
from zoo.smoke.messages.refused import REFUSED
from zoo.smoke.messages.serving import DEGRADES, NOTED

KNOWN: tuple[Known, ...] = (*REFUSED, *MACHINE, *DEGRADES, *NOTED, *WRAPS)
