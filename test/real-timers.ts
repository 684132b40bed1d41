/** Files share an isolate: a clock that a failed test has left would make those after it wait forever. */
import { afterAll, vi } from "vitest";

afterAll(() => void vi.useRealTimers());
