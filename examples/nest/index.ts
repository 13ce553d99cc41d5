/**
 * A shop on Nest. Start it as often as you like on one folder; no article is sold twice.
 *
 *     DATA=/tmp PORT=3000 npx tsx --tsconfig examples/nest/tsconfig.json examples/nest/index.ts
 *     curl -X PUT localhost:3000/stock/mug -H 'content-type: application/json' -d '{"quantity":3}'
 *     curl localhost:3000/orders -H 'content-type: application/json' -d '{"sku":"mug","quantity":1,"paymentMs":100}'
 *     curl localhost:3000/health
 *
 * Each constructor says `@Inject`, since tsx emits no types for decorators; compiled with tsc and
 * `emitDecoratorMetadata` it can be left out.
 */
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.ts'

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
// At SIGTERM: no new requests, those under way end, then the locks are closed. Without the option Nest would end the
// process by the same signal once more, which is no exit code of 0.
app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true })
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(`listening on ${await app.getUrl()}`)
