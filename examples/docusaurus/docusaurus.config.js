export default {
  title: 'Performance notes',
  url: 'https://example.com',
  // Path of the site on its server.
  baseUrl: '/',
  presets: [['classic', { docs: { routeBasePath: '/', sidebarPath: false }, blog: false }]],
  themeConfig: { colorMode: { respectPrefersColorScheme: true } },
};
