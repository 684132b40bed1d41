/** The npm packages of the agents, in the versions of docs/agents.md. */
export const AGENTS = [
	"codex",
	"claude",
	"opencode",
	"qwen",
	"continue",
	"gemini",
	"kilo",
	"pi",
	"copilot",
	"cline",
	"droid",
] as const;
export type AgentName = (typeof AGENTS)[number];

export interface AgentPackage {
	title: string;
	/** Name on npm. */
	name: string;
	version: string;
	/** Its command, in `node_modules/.bin`. */
	command: string;
	/** Its install script installs the program for this platform. */
	installScript: boolean;
}

export const PACKAGES: Readonly<Record<AgentName, AgentPackage>> = {
	codex: {
		title: "Codex",
		name: "@openai/codex",
		version: "0.169.0",
		command: "codex",
		installScript: false,
	},
	claude: {
		title: "Claude Code",
		name: "@anthropic-ai/claude-code",
		version: "2.1.330",
		command: "claude",
		installScript: true,
	},
	opencode: {
		title: "opencode",
		name: "opencode-ai",
		version: "1.18.33",
		command: "opencode",
		installScript: true,
	},
	qwen: {
		title: "Qwen Code",
		name: "@qwen-code/qwen-code",
		version: "0.24.4",
		command: "qwen",
		installScript: false,
	},
	continue: {
		title: "Continue",
		name: "@continuedev/cli",
		version: "1.5.47",
		command: "cn",
		installScript: false,
	},
	gemini: {
		title: "Gemini CLI",
		name: "@google/gemini-cli",
		version: "0.61.0",
		command: "gemini",
		installScript: false,
	},
	kilo: {
		title: "Kilo",
		name: "@kilocode/cli",
		version: "7.7.7",
		command: "kilo",
		installScript: true,
	},
	pi: {
		title: "pi",
		name: "@mariozechner/pi-coding-agent",
		version: "0.73.1",
		command: "pi",
		installScript: false,
	},
	copilot: {
		title: "Copilot CLI",
		name: "@github/copilot",
		version: "1.0.102",
		command: "copilot",
		installScript: false,
	},
	cline: {
		title: "Cline",
		name: "cline",
		version: "3.0.65",
		command: "cline",
		installScript: true,
	},
	droid: {
		title: "Droid",
		name: "droid",
		version: "0.215.0",
		command: "droid",
		installScript: true,
	},
};
