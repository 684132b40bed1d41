/**
 * Writes 4 KB to the start of a file and waits for the disk, in a loop until it is stopped. Prints the number of writes each second.
 * `node disk-writer.ts FILE`.
 */
import { fdatasyncSync, openSync, writeSync } from "node:fs";

const bytes = Buffer.alloc(4096, 1);
const PRINT_MS = 1_000;
const [, , path = ""] = process.argv;
const file = openSync(path, "w");

let writes = 0;
for (let printAt = 0; ; writes++) {
	writeSync(file, bytes, 0, bytes.length, 0);
	fdatasyncSync(file);
	if (performance.now() < printAt) continue;
	printAt = performance.now() + PRINT_MS;
	console.log(writes + 1);
}
