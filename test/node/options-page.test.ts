/** docs/self-hosting.md lists each option of `ganglion serve`, and no other one, with its default. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { program } from "../../cli/program.ts";

const page = readFileSync("docs/self-hosting.md", "utf8");
const rows = page
	.split("\n")
	.filter((line) => line.startsWith("| `--"))
	.map((line) => line.split("|").map((cell) => cell.trim()))
	.map(([, names = "", , defaults = ""]) => ({ names: literals(names), defaults: literals(defaults) }));

function literals(cell: string): string[] {
	return [...cell.matchAll(/`([^`]*)`/g)].map(([, text = ""]) => text);
}

const options =
	program("0.0.0", {}, () => {}).commands.find((command) => command.name() === "serve")?.options ?? [];

it("lists each option", () => {
	expect(options.length).toBeGreaterThan(10);
	expect(rows.flatMap(({ names }) => names).sort()).toEqual(options.map(({ long }) => long).sort());
});

// The default of a configuration file depends on the command.
const withDefaults = rows.filter(({ names, defaults }) => defaults.length > 0 && !names.includes("--config"));

it.each(withDefaults)("has the defaults of $names", ({ names, defaults }) => {
	const found = names.map((name) => options.find(({ long }) => long === name));
	expect(found.map((option) => String(option?.defaultValueDescription ?? option?.defaultValue))).toEqual(
		defaults,
	);
});
