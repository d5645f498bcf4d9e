"""The rules: ``registry`` runs them, one module per group holds them. Importing this package registers
all of them."""

from zoo.rules import (
    audit,
    base,
    card,
    change,
    commands,
    config,
    config_alone,
    config_values,
    contradictions,
    data,
    deep,
    engine,
    evidence,
    files,
    flags,
    headers,
    hostile,
    impossible,
    inventory,
    launch,
    maps,
    programs,
    reading,
    recipe,
    remote,
    reports,
    serving,
    shards,
    target,
    target_config,
    training,
    trust,
    vllm,
)
from zoo.rules.registry import RULES, Level, Rule, run
from zoo.rules.subject import Absent, Subject

__all__ = ["RULES", "Absent", "Level", "Rule", "Subject", "run"]
