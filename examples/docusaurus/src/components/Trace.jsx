import React from 'react';
import Head from '@docusaurus/Head';
import useBaseUrl from '@docusaurus/useBaseUrl';
import { useColorMode } from '@docusaurus/theme-common';

/** A report of a trace under static/; `children` show until it does, and where scripts do not run. */
export default function Trace({ src, report, limits, show, label, theme, children }) {
  // From static/ and past the bundler, so that tracedrop.html is found beside it.
  const element = useBaseUrl('/tracedrop/trace-drop.js');
  const trace = useBaseUrl(src);
  const budget = useBaseUrl(limits ?? '');
  // What the switch of the site says, which need not be what the system does.
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
