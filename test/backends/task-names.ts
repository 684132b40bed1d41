import type { BackendTasks } from "../../src/backends/backend.ts";

/** The tasks of a backend, inherited ones included. */
export function taskNames(tasks: BackendTasks): string[] {
	const names: string[] = [];
	for (const name in tasks) names.push(name);
	return names;
}
