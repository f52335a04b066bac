// Vercel's Chat SDK and AI SDK as their documentation puts them together: a direct message in Slack,
// the history that the SDK keeps in Redis, an agent with one tool, the work after the 200.
// Run by benchmarks.peers in the folder where package.json is installed.

import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createSlackAdapter } from "@chat-adapter/slack";
import { createRedisState } from "@chat-adapter/state-redis";
import { serve } from "@hono/node-server";
import { ToolLoopAgent, tool } from "ai";
import { Chat, ConsoleLogger } from "chat";
import { Hono } from "hono";
import { z } from "zod";

const { GOOGLE_GEMINI_BASE_URL, PORT, SLACK_API_BASE_URL, WTTR_BASE_URL } = process.env;

const getWeather = tool({
  description: "The weather at a place.",
  inputSchema: z.object({ location: z.string() }),
  execute: async ({ location }) => {
    const answer = await fetch(`${WTTR_BASE_URL}/${encodeURIComponent(location)}?format=j1`);
    const now = (await answer.json()).current_condition[0];
    return { location, temperature: now.temp_C, condition: now.weatherDesc[0].value };
  },
});

const google = createGoogleGenerativeAI({
  apiKey: "key",
  baseURL: `${GOOGLE_GEMINI_BASE_URL}/v1beta`,
});
const agent = new ToolLoopAgent({
  model: google("gemini-3.5-flash"),
  instructions: "You are Kaiwa, a helpful assistant. Answer in the user's language.",
  tools: { get_weather: getWeather },
});

const bot = new Chat({
  userName: "kaiwa",
  adapters: { slack: createSlackAdapter({ apiUrl: SLACK_API_BASE_URL }) },
  state: createRedisState(),
  history: { user: { identity: ({ author }) => author.userId, retention: "30d", maxPerUser: 200 } },
  logger: new ConsoleLogger("error"),
});

bot.onDirectMessage(async (thread, message) => {
  const { userKey } = message;
  await bot.history.user.append(thread, message);
  const said = await bot.history.user.list({ userKey, limit: 40 });
  const messages = said.map(({ role, text }) => ({ role, content: text }));
  const { text } = await agent.generate({ messages });
  await thread.post(text);
  await bot.history.user.append(thread, { role: "assistant", text }, { userKey });
});

const app = new Hono();
app.get("/readyz", (c) => c.json({}));
app.post("/webhooks/slack", (c) =>
  bot.webhooks.slack(c.req.raw, { waitUntil: (work) => void work.catch(console.error) }),
);
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(PORT) });
