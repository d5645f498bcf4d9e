sglang serve --model-path=org/target --tp-size=8 --mem-fraction-static=0.8
