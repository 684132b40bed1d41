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
	// Colours that still change have any contrast. A progress indicator turns forever.
	await page.evaluate(`Promise.allSettled(
		document.getAnimations()
			.filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
			.map(({ finished }) => finished),
	)`);
	const violations = (await page.evaluate(
		"axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
	)) as AxeViolation[];
	return violations
		.filter(({ impact }) => impact === "serious" || impact === "critical")
		.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
