/** The Node that the scripts of this project need: they are TypeScript, and some have `import.meta.main`. Node runs them from 24.2. */
const [MAJOR, MINOR] = [24, 2];

export const NEEDED_NODE = `${MAJOR}.${MINOR}`;

/** Whether this Node is new enough. */
export const isNewEnough = () => isAtLeast(process.versions.node, MAJOR, MINOR);

export function isAtLeast(version, neededMajor, neededMinor) {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}
