sglang serve --tp-size 8
