"""The ``zoo`` command: one small module per verb, imported only when it runs.

Nothing here decides anything about drafts. This is the only place that turns an exception into a message
and an exit status. It imports next to nothing, so that Ctrl-C finds it ready from the first moment on.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130

# Verb -> its line in the overview; the module is zoo.cli.VERB. Kept here so that --help imports none of them.
VERBS = {
    "init": "Make a new zoo, or a new recipe.",
    "adopt": "Write a recipe from an existing checkpoint.",
    "list": "What is in this zoo.",
    "show": "One recipe: its facts, files and standing.",
    "verify": "Check a draft against its recipe.",
    "ci": "Judge a pull request: what it touches, and whether it may enter.",
    "diff": "What differs between two drafts.",
    "pull": "Download a release or a source, and prove what was downloaded.",
    "fix": "Write a mended copy of a checkpoint.",
    "launch": "Print the command that serves a draft, or judge one that somebody wrote.",
    "impact": "What another engine version changes for the drafts of this zoo.",
    "engines": "The flags of engine versions, read from their wheels.",
    "card": "Render the model card, or check it for drift.",
    "release": "Publish a version; without --push, a full dry run.",
    "merge": "Merge a proposed version, and tag it.",
    "history": "What was released, and what became of it.",
    "promote": "Point an alias at a version.",
    "yank": "Withdraw a version; its bytes and its tag stay.",
    "sign": "Sign a record of evidence.",
    "trace": "Record the states of a target, to replay drafts against.",
    "replay": "Run a draft against recorded states of its target.",
    "smoke": "Serve a draft, and judge what it serves.",
    "bisect": "Find the smallest difference that makes one draft worse than another.",
    "standin": "Write a checkpoint with a recipe's exact inventory, without its weights.",
    "hub": "A hub of one's own: serve a directory with the Hub's HTTP contract.",
    "rule": "Explain a rule, or list all rules.",
    "outdated": "What is no longer the newest: engines, targets, evidence, waivers.",
    "doctor": "What this machine has for zoo, and what is missing.",
}


def main() -> None:
    """Run the command line and exit. The one place where exceptions become an exit status."""
    stopped: list[int] = []
    try:
        import gc
        import signal

        # Importing makes thousands of objects that stay; looking for garbage there takes a tenth of a start.
        gc.set_threshold(200_000)

        stops = (signal.SIGTERM, signal.SIGHUP)

        def stop(number: int, _: object) -> None:
            """The same as Ctrl-C, so that nothing stays half done; once, so that the clean-up ends."""
            for each in stops:
                signal.signal(each, signal.SIG_IGN)
            stopped.append(number)
            raise KeyboardInterrupt

        for each in stops:
            if signal.getsignal(each) is signal.SIG_DFL:  # not under nohup
                signal.signal(each, stop)
        status = run(sys.argv[1:])
        # Python looks once more as it ends, a seventh of a short run; what is left goes with the process.
        gc.freeze()
    except KeyboardInterrupt:  # before the command began, or after it ended
        status = INTERRUPTED
    sys.exit(128 + stopped[0] if stopped and status == INTERRUPTED else status)


def run(args: list[str]) -> int:
    """Run ``zoo ARGS`` and return its exit status."""
    import os

    from zoo.cli.failures import explain
    from zoo.cli.group import zoo
    from zoo.errors import UsageError

    try:
        if sys.stdout is None:
            raise UsageError("standard output is closed", hint="send it to a file, or to /dev/null")
        result = zoo.main(args=args, prog_name="zoo", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as ended:
        if "_ZOO_COMPLETE" in os.environ:  # click has answered a shell (docs/cli.md)
            return ended.code if isinstance(ended.code, int) else 0
        return explain(BrokenPipeError())  # click's own answer to a reader that went away
    except (Exception, KeyboardInterrupt) as error:
        return explain(error)
    return result if isinstance(result, int) else 0
