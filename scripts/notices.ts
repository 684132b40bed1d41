/** The licences of the bundled packages, which the package must include. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENCE = /^(?:licen[cs]e|copying)\b/i;
/** Licences that require only a notice, or nothing. */
const PERMISSIVE = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "Unlicense"]);
/** Works inside of packages, which are no packages of their own. */
const CONTAINED: Readonly<Record<string, string>> = {
	unpdf:
		"It contains PDF.js, Copyright Mozilla Foundation, under the Apache License 2.0. The text of that licence is in this file, below @e965/xlsx.",
};

const AS_IS_MIT = `THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
/** For packages that name a licence and contain no file with its text (https://spdx.org/licenses/). */
const TEXTS: Record<string, string> = {
	Unlicense: `This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in source code form or
as a compiled binary, for any purpose, commercial or non-commercial, and by any means.

In jurisdictions that recognize copyright laws, the author or authors of this software dedicate any and all copyright
interest in the software to the public domain. We make this dedication for the benefit of the public at large and to the
detriment of our heirs and successors. We intend this dedication to be an overt act of relinquishment in perpetuity of
all present and future rights to this software under copyright law.

${AS_IS_MIT.replace("AUTHORS OR\nCOPYRIGHT HOLDERS", "AUTHORS")}`,
	MIT: `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

${AS_IS_MIT}`,
	ISC: `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby
granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.`,
};

interface Manifest {
	name: string;
	version: string;
	license?: string;
	author?: string | { name: string };
}

/**
 * `inputs` are paths of bundled files below `root`. Throws if a licence also applies to the users of the bundle, or if its text is
 * unknown.
 */
export function notices(root: string, inputs: readonly string[]): string {
	const folders = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
	const parts = [...folders].map((folder) => notice(join(root, folder)));
	return `The files of this package contain these works, under their licences.\n${parts.sort().join("")}`;
}

/** Of the licences of a package, one may be chosen. `undefined`: none is permissive. */
const permissiveOf = (license: string): string | undefined =>
	license
		.replace(/[()]/g, "")
		.split(" OR ")
		.find((name) => PERMISSIVE.has(name));

/** Without the text of the GPL, if another licence is chosen. */
const withoutOthers = (text: string): string => text.split(/^GPL version/m, 1)[0] ?? "";

function notice(folder: string): string {
	const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	const { author = "its authors", license = "unknown", name, version } = manifest;
	const chosen = permissiveOf(license);
	if (chosen === undefined)
		throw new Error(`${name} ${version} cannot be bundled: its licence is ${license}`);
	const file = readdirSync(folder).find((name) => LICENCE.test(name));
	const owner = typeof author === "string" ? author : author.name;
	const text =
		file === undefined
			? TEXTS[chosen] && `Copyright (c) ${owner}\n\n${TEXTS[chosen]}`
			: withoutOthers(readFileSync(join(folder, file), "utf8")).trim();
	if (!text) throw new Error(`${name} ${version} has no text of its licence, ${license}`);
	const contained = CONTAINED[name] === undefined ? "" : `\n\n${CONTAINED[name]}`;
	return `\n${name} ${version} (${chosen})\n\n${text}${contained}\n\n${"-".repeat(80)}\n`;
}
