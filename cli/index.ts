/** The entry point of `npx ganglion`. */
import "../scripts/older-node.ts";
import { main } from "./main.ts";

await main(process.argv.slice(2));
