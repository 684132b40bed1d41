/** Bounds of numbers in settings. A larger one is a mistake: a timer beyond the runtime's longest one fires at once. */
import * as z from "zod";

/** Neurons, US dollars, weights. */
const MAX_AMOUNT = 1e12;
/** Things that are counted: bytes, requests, tokens. */
const MAX_COUNT = 2 ** 50;
/** The longest timer of the runtime. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const amount = z.number().min(0).max(MAX_AMOUNT);
export const positiveAmount = z.number().positive().max(MAX_AMOUNT);
export const wholeCount = z.int().min(0).max(MAX_COUNT);
export const positiveCount = z.int().min(1).max(MAX_COUNT);
export const timerMs = (min: number) => z.number().min(min).max(MAX_TIMER_MS);
