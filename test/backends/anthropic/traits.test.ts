import { expect, it } from "vitest";
import { traitsOf } from "../../../src/backends/anthropic/traits.ts";

it.each([
	["claude-2.1", "none", true, false, false],
	["claude-3-haiku-20240307", "none", true, false, false],
	["claude-3-5-sonnet-latest", "none", true, false, true],
	["claude-3-7-sonnet-20250219", "budget", true, false, true],
	["claude-sonnet-4-20250514", "budget", true, false, true],
	["claude-opus-4-1-20250805", "budget", true, true, true],
	["claude-sonnet-4-5-20250929", "budget", true, true, true],
	["anthropic.claude-haiku-4-5-20251001-v1:0", "budget", true, true, true],
	["claude-haiku-4.5", "budget", true, true, true],
	["claude-opus-4-6", "adaptive", true, true, true],
	["claude-opus-4-7", "adaptive", false, true, true],
	["Claude-Sonnet-5", "adaptive", false, true, true],
	["claude-opus-4-10", "adaptive", false, true, true],
	["claude-mythos-preview", "adaptive", false, true, true],
	["kimi-k2", "budget", true, false, false],
])("%s", (name, thinking, sampling, grammar, searches) => {
	expect(traitsOf(name)).toEqual({ thinking, sampling, grammar, searches });
});
