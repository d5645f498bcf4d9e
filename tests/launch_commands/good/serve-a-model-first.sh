sglang serve org/target --tp-size 2
