import { expect, it } from "vitest";
import { type Role, sayBack } from "../../../src/backends/simulator/person.ts";

it.each<[Role, string, string]>([
	["user", "my name is Alice", "Your name is Alice."],
	["user", "Hi, I'm Alice and I've two cats!", "You are Alice and you have two cats!"],
	["user", "Remember that our office is in the US", "Your office is in the US."],
	["user", "I gave you my key", "You gave me your key."],
	["user", "You are HAL", "I am HAL."],
	["user", "World War I began in 1914.", "World War I began in 1914."],
	["user", "我的狗叫旺财。", "你的狗叫旺财。"],
	["user", "Je m'appelle Alice", "Je m'appelle Alice."],
	["system", "You are a pirate and your ship is the Gull.", "I am a pirate and my ship is the Gull."],
	["system", "The user's name is Bob", "Your name is Bob."],
	["assistant", "Your name is Alice.", "Your name is Alice."],
	["tool", "I am what I am", "I am what I am."],
])("%s: %s", (role, said, back) => expect(sayBack(said, role)).toBe(back));
