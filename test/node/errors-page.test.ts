/** The page of error codes has each failure of the gateway, and no other. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FAILURES } from "../../src/core/failures.ts";

const TITLES = { inference: "Inference", edge: "Before inference", gateway: "Gateways" };

it("docs/errors.md has a row with an advice for each failure", () => {
	const rows = readFileSync("docs/errors.md", "utf8")
		.split(/^## /m)
		.flatMap((section) => {
			const [title] = section.split("\n");
			return [...section.matchAll(/^\| +(\d+) +\| +(\d+) +\| +(.*?) +\| +(.+?) +\|$/gm)].map(
				([, code, status, message]) => `${title}: ${code} ${status} ${message}`,
			);
		});
	const failures = Object.values(FAILURES).map(
		({ plane, code, status, description }) => `${TITLES[plane]}: ${code} ${status} ${description}`,
	);
	expect(rows.sort()).toEqual(failures.sort());
});
