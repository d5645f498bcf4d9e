"""``python -m zoo.smoke.reference``: exit 0 after SIGTERM, 1 when it cannot start, 2 for wrong usage."""

from __future__ import annotations

import sys

from zoo.engines.options import snapshot
from zoo.errors import UsageError, ZooError
from zoo.replay.reference import Engine
from zoo.smoke.reference import say
from zoo.smoke.reference.options import Options, parse


def main(argv: list[str]) -> int:
    """Load, serve, and return the exit status."""
    options = parse(argv, _is_flag)
    try:
        return _serve(options)
    except ZooError as error:
        say(f"cannot start: {error.message}; {error.hint}")
    except (OSError, RuntimeError) as error:
        say(f"cannot start: {type(error).__name__}: {error}")
    return 1


def _serve(options: Options) -> int:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise UsageError(
            f"it needs torch and transformers ({error})", hint="pip install 'draft-zoo[torch]'"
        ) from error
    from zoo.smoke.reference import engine
    from zoo.smoke.reference.draft import load_draft
    from zoo.smoke.reference.server import Server
    from zoo.smoke.reference.target import Target

    # Matrices of small models gain nothing from threads, which on a busy machine wait for each other.
    torch.set_num_threads(options.threads)
    server = Server(options)
    say(f"torch {torch.__version__}, transformers {transformers.__version__}: this is not SGLang")
    target = Target(
        options.model, options.dtype, tokenizer=options.tokenizer, context_length=options.context_length
    )
    say(f"target: {target.layers} layers, vocabulary {target.vocab_size}, {target.dtype}")
    draft = None
    if options.draft is not None:
        draft = load_draft(options.draft, target, options.reading, options.block_size, options.seed)
        read = draft.reading
        say(
            f"draft: block_size={read.block_size}, mask_token_id={read.mask_token_id}, states after layers "
            f"{list(read.aux_ids)}, read as {'=='.join(options.reading)} does"
        )
    running = engine.Engine(target, draft, options.seed)
    running.probe()
    server.serve(running)
    return 0


def _is_flag(engine: Engine, name: str) -> bool:
    """Whether this engine version has the flag, or one that this name is the unique beginning of."""
    known = snapshot(*engine)
    return known is not None and (known.exact(name) is not None or len(known.candidates(name)) == 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
