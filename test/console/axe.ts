/** What every page must hold for a screen reader, the keyboard and a narrow screen. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

export const NARROW = { width: 360, height: 740 };
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeViolation {
	id: string;
	impact: string;
	nodes: { html: string }[];
}

/** Serious and critical violations. The policy of the page applies to the page, not to the debugger. */
export async function faultsOf(page: Page): Promise<string[]> {
	// Half a megabyte, which each document compiles once.
	if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
	// Colours that still change have any contrast, and a change of a parent may start one of its children. A progress indicator turns forever.
	await page.evaluate(`(async () => {
		for (;;) {
			await new Promise((resolve) => setTimeout(resolve, 20));
			const changes = document.getAnimations().filter(
				({ effect, playState }) => playState === "running" && effect.getComputedTiming().endTime !== Infinity,
			);
			if (changes.length === 0) return;
			await Promise.allSettled(changes.map(({ finished }) => finished));
		}
	})()`);
	const violations = (await page.evaluate(
		"axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
	)) as AxeViolation[];
	return violations
		.filter(({ impact }) => impact === "serious" || impact === "critical")
		.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
