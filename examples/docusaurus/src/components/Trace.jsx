import React, { useEffect } from 'react';
import useBaseUrl from '@docusaurus/useBaseUrl';

/** A report of a trace under static/; `children` show until it does, and where scripts do not run. */
export default function Trace({ src, report, limits, show, label, theme = 'system', children }) {
  const element = useBaseUrl('/tracedrop/trace-drop.js');
  const trace = useBaseUrl(src);
  const budget = useBaseUrl(limits ?? '');
  useEffect(() => {
    // From static/, so that tracedrop.html is found beside it; bundlers shall leave the address alone.
    import(/* webpackIgnore: true */ element);
  }, [element]);
  return (
    <trace-drop src={trace} report={report} limits={limits ? budget : undefined} show={show} label={label} theme={theme}>
      {children}
    </trace-drop>
  );
}
