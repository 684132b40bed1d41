/** `npm run test:fast`: the tests inside workerd that end within a minute on two idle cores. `npm test` runs all. */
import { defineConfig } from "vitest/config";
import config from "../vitest.config.ts";
import { SLOW_FILES, SLOW_FOLDERS } from "./slow-in-workerd.ts";

const LEFT_OUT = [...SLOW_FOLDERS.map((folder) => `${folder}/**`), ...SLOW_FILES];

const { projects = [], ...test } = config.test ?? {};

export default defineConfig({
	...config,
	test: {
		...test,
		maxWorkers: "100%",
		projects: projects.flatMap((project) => {
			if (typeof project !== "object" || !("test" in project) || project.test?.name !== "worker") return [];
			const { exclude = [] } = project.test;
			return [{ ...project, test: { ...project.test, exclude: [...exclude, ...LEFT_OUT] } }];
		}),
	},
});
