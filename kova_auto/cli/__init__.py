"""Turn arguments into requests and answers into text, one file per noun."""
