import { expect, it } from "vitest";
import { fnv1a } from "../../src/core/fnv.ts";

it.each([
	["", 0x811c9dc5],
	["a", 0xe40c292c],
	["foobar", 0xbf9cf968],
])("hashes %j as the reference does", (text, hash) => expect(fnv1a(text)).toBe(hash));
