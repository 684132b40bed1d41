/** The page of error codes has each failure of the gateway and each close of a websocket, and no others. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FAILURES } from "../../src/core/failures.ts";
import { CLOSE } from "../../src/http/close-codes.ts";

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

it("docs/errors.md has a row for each close of a websocket", () => {
	const [, section = ""] = readFileSync("docs/errors.md", "utf8").split("## Closes of websockets");
	const rows = [...section.matchAll(/^\| +(\d{4}) +\| +.+? +\| +.+? +\|$/gm)].map(([, code]) => Number(code));
	// The caller sees 1006 if there was no close frame.
	expect(rows).toEqual([...Object.values(CLOSE), 1006].sort());
});

it("the numbers of closes stand in one file", () => {
	const numbers = new RegExp(`[=:(] ?(${Object.values(CLOSE).join("|")})[;,)]`);
	const sockets = globSync(["src/**/*socket*.ts", "src/http/*.ts", "scripts/connections/*.ts"]);
	const files = sockets.filter((file) => numbers.test(readFileSync(file, "utf8")));
	expect(files).toEqual(["src/http/close-codes.ts"]);
});
