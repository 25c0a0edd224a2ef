import React from 'react';
import Head from '@docusaurus/Head';
import useBaseUrl from '@docusaurus/useBaseUrl';
import { useColorMode } from '@docusaurus/theme-common';

/** Report of a trace in static/; `children` show until it does, and where scripts do not run. */
export default function Trace({ src, report, limits, show, label, theme, children }) {
  // From static/, not bundled, so that it finds tracedrop.html in the same folder.
  const element = useBaseUrl('/tracedrop/trace-drop.js');
  const trace = useBaseUrl(src);
  const budget = useBaseUrl(limits ?? '');
  // The site's theme switch, which may differ from the system theme.
  const { colorMode } = useColorMode();
  return (
    <>
      <Head>
        <script type="module" src={element} />
      </Head>
      <trace-drop src={trace} report={report} limits={limits ? budget : undefined} show={show} label={label} theme={theme ?? colorMode}>
        {children}
      </trace-drop>
    </>
  );
}
