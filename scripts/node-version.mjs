/** The Node that the scripts of this project need: they are TypeScript, and some have `import.meta.main`. Node runs them from 24.2. */
const [MAJOR, MINOR] = [24, 2];

export const NEEDED_NODE = `${MAJOR}.${MINOR}`;

/** @returns {boolean} Whether this Node is new enough. */
export function isNewEnough() {
	const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
	return major > MAJOR || (major === MAJOR && minor >= MINOR);
}
