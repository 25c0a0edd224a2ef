project = "Performance notes"
extensions = []
html_theme = "alabaster"
# The element, the single-file page that it shows, and the traces.
html_static_path = ["_static"]
html_js_files = [("tracedrop/trace-drop.js", {"type": "module"})]
