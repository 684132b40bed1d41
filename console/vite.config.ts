import { defineConfig } from "vite";

export default defineConfig({
	base: "/console/",
	build: {
		// All files in one folder: the Worker takes other paths for pages.
		assetsDir: "",
		// The policy allows no `data:` in styles and scripts.
		assetsInlineLimit: 0,
		target: "es2022",
		emptyOutDir: true,
		rolldownOptions: {
			onLog(level, log, report) {
				// "use client" concerns servers that render components. There is none.
				if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
			},
		},
	},
});
