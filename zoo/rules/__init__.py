"""The rules: ``registry`` runs them, one module per group holds them. Importing this package registers all of them."""

from zoo.rules import config, deep, engine, files, inventory, recipe, training  # noqa: F401 - registers the rules
from zoo.rules.registry import RULES, Level, Rule, run
from zoo.rules.subject import Absent, Subject

__all__ = ["RULES", "Absent", "Level", "Rule", "Subject", "run"]
