export default {
  title: 'Performance notes',
  url: 'https://example.com',
  // Where the site is under a sub-path, this is it.
  baseUrl: '/',
  presets: [['classic', { docs: { routeBasePath: '/', sidebarPath: false }, blog: false }]],
  themeConfig: { colorMode: { respectPrefersColorScheme: true } },
};
