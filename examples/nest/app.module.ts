import { Module } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { TerminusModule } from '@nestjs/terminus'
import { LocksModule } from '../../src/nestjs/index.ts'
import { BusyFilter } from './busy.filter.ts'
import { HealthController } from './health.controller.ts'
import { OrdersController } from './orders.controller.ts'
import { OrdersService } from './orders.service.ts'
import { FOLDER, Stock } from './stock.ts'

@Module({
  providers: [{ provide: FOLDER, useFactory: () => process.env.DATA ?? '.' }],
  exports: [FOLDER],
})
class ConfigModule {}

@Module({
  imports: [
    ConfigModule,
    TerminusModule,
    LocksModule.forRootAsync({
      imports: [ConfigModule],
      inject: [FOLDER],
      useFactory: (folder: string) => ({ store: `sqlite:${folder}/locks.db`, service: 'shop', lease: '10s' }),
    }),
  ],
  controllers: [OrdersController, HealthController],
  providers: [OrdersService, Stock, { provide: APP_FILTER, useClass: BusyFilter }],
})
export class AppModule {}
