CMD='sglang serve --model-path org/target --no-such-flag'; $CMD
