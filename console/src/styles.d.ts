declare module "@cloudflare/kumo/styles/standalone";
