sglang serve --model-path org/target $EXTRA_ARGS
