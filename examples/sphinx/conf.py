project = "Performance notes"
extensions = []
html_theme = "alabaster"
# The element, the page in one file that it shows, and traces: all of them in _static/.
html_static_path = ["_static"]
html_js_files = [("tracedrop/trace-drop.js", {"type": "module"})]
